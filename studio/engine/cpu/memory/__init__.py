"""Arrays over the program's storage, and working memory."""
