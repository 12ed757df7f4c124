"""Problems × adapters → cells → blocks, with costs and the reason for every skipped cell."""
