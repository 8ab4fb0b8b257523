/** An `http` spec as one request, wherever it runs: what is sent, what a status means, what of the answer is kept. */
export { HttpTaskError, mostBytes, parseSpec, perform, type Send, type TaskAnswer } from './task.ts';
