import 'reflect-metadata';
import { runProcess } from '#platform';
import { startWorker } from './worker-process.js';

await runProcess(startWorker);
