import {
  CommonEnvironment,
  GatewayEnvironment,
  SecretsEnvironment,
  WorkerEnvironment,
} from './environment.js';
import { variableDescriptionsOf } from './variable-description.js';

const VARIABLES = [SecretsEnvironment, CommonEnvironment, GatewayEnvironment, WorkerEnvironment].flatMap(
  (shape) => [...variableDescriptionsOf(shape)],
);

/** Names of all variables of gateway and worker together, because these processes often share one environment. */
export const KNOWN_ENVIRONMENT_VARIABLES: ReadonlySet<string> = new Set(VARIABLES.map(([name]) => name));

/** Names of the variables whose values are secret. */
export const SECRET_ENVIRONMENT_VARIABLES: ReadonlySet<string> = new Set(
  VARIABLES.filter(([, { isSecret }]) => isSecret === true).map(([name]) => name),
);
