"""One file per instruction that is no row: ``build`` binds it, ``build_grads`` its gradient."""
