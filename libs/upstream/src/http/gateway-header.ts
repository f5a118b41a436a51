/**
 * Header that a Tidings gateway sets on each of its replies and on each of its requests to upstream. By this
 * header, a gateway notices that its upstream or its caller is a gateway, too. Otherwise, the gateways would
 * relay the same send endlessly.
 */
export const GATEWAY_HEADER = { name: 'tidings-gateway', value: '1' } as const;
