import 'reflect-metadata';
import { runThisProcess } from '#platform';
import { startGateway } from './gateway-process.js';

await runThisProcess(startGateway);
