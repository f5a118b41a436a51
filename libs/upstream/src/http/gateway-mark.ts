/**
 * Header that a Tidings gateway sets on each of its replies and on each of its requests to upstream. It shows
 * a gateway that its upstream is a gateway, too. Such gateways would relay the same send endlessly.
 */
export const GATEWAY_HEADER = { name: 'tidings-gateway', value: '1' } as const;
