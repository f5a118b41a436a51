import 'reflect-metadata';
import { runUntilStopSignal } from '#platform';
import { startGateway } from './gateway-process.js';

await runUntilStopSignal(startGateway);
