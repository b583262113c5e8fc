"""What long-running work needs: atomic files, progress, limits."""
