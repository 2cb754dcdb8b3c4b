"""The objects of an embedded cluster for people who look: states, histories, and the pages that tell them."""
