"""CertificateSigningRequests: approval, signing, and the deletion of old ones."""
