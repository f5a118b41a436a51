import 'reflect-metadata';
import { runProcess } from '#platform';
import { startGateway } from './gateway-process.js';

await runProcess(startGateway);
