import 'reflect-metadata';
import { setFlagsFromString } from 'node:v8';
import { runThisProcess } from '#platform';
import { startWorker } from './worker-process.js';

// By default V8 lets the heap grow to many times its live size before a full collection. An account with
// 100,000 contacts would then double the worker's memory. A V8 version without this flag prints a warning and
// continues.
setFlagsFromString('--heap-growing-percent=50');

await runThisProcess(startWorker);
