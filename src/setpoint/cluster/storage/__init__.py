"""Storage: PersistentVolumes, their claims, and the protection of volumes that are in use."""
