"""The client that blocks; all but `http` is made of `_async` by `npm run generate`."""
