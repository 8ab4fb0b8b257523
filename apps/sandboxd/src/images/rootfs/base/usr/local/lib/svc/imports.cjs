// What the image has in NODE_PATH is found by `import` too, after everything that Node.js looks for by itself.
const { registerHooks } = require('node:module');

const parentURL = 'file:///usr/local/lib/imports.mjs';
const isBare = (specifier) => !/^(?:[./#]|[a-z][a-z0-9+.-]*:)/i.test(specifier);

registerHooks?.({
  resolve(specifier, context, next) {
    try {
      return next(specifier, context);
    } catch (error) {
      if (error?.code !== 'ERR_MODULE_NOT_FOUND' || !isBare(specifier)) throw error;
      try {
        return next(specifier, { ...context, parentURL });
      } catch {
        throw error;
      }
    }
  },
});
