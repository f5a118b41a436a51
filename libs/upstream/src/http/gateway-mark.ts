/**
 * Header that marks every reply of a gateway and every request of a gateway to upstream. It detects a gateway whose
 * upstream is a gateway: such a pair would relay the same send endlessly.
 */
export const GATEWAY_HEADER = { name: 'tidings-gateway', value: '1' } as const;
