import 'reflect-metadata';
import { setFlagsFromString } from 'node:v8';
import { runProcess } from '#platform';
import { startWorker } from './worker-process.js';

// By default V8 lets the heap grow to many times what is in use before it collects it as a whole: an account with 100,000
// contacts would double the worker's memory, though nearly nothing of that is in use. A V8 without this flag says so and goes on.
setFlagsFromString('--heap-growing-percent=50');

await runProcess(startWorker);
