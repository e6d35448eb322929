"""AMD code objects: gfx9 to gfx12."""
