/** The page of an endpoint in the console. */
export const endpointPage = (endpointId: string): string => `/console/settings/webhooks/${endpointId}`;
