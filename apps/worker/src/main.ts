import 'reflect-metadata';
import { setFlagsFromString } from 'node:v8';
import { runUntilStopSignal } from '#platform';
import { startWorker } from './worker-process.js';

// By default, V8 lets the heap grow to several times its live size before a full garbage collection: an account with
// 100,000 contacts would double the memory of a worker. Collections that are more frequent than at this value would
// delay deliveries. A V8 version without this flag prints a warning and continues.
setFlagsFromString('--heap-growing-percent=100');

await runUntilStopSignal(startWorker);
