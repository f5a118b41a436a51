export {
  DestinationRefusedError,
  type Endpoint,
  type EndpointRegistry,
  type NewEndpoint,
} from './endpoint.js';
