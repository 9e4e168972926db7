"""What pipes share."""
