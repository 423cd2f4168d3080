"""Every family of linear models on one table, on the same folds, with a page that tells of it."""
