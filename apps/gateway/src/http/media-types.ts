/** Media type of a reply that a handler has already written as JSON. */
export const JSON_TYPE = 'application/json; charset=utf-8';
