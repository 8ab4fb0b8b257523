// The daemon as one file (`/install/host.mjs`): what older versions of Node.js lack, then the same program.
import './older-node.ts';
import './main.ts';
