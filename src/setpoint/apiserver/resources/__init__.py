"""What is served: every resource in every version, and what each says about itself."""
