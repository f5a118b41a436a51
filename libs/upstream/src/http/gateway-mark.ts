/**
 * The header by which gateways know each other: in every reply of one, and in every request that one makes of upstream.
 * A gateway that is its own upstream, or another's, would hand the same send on again and again.
 */
export const GATEWAY_MARK = { name: 'tidings-gateway', value: '1' } as const;
