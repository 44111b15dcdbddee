import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A new token of a Live Activity does not replace the one before",
  file: "lib/push/devices/live-activities.ts",
  search:
    'create: { ...params, ...token }, update: token });\n    await removeOldest(tx, deviceId, sql`"LiveActivity"`',
  replace: 'create: { ...params, ...token }, update: {} });\n    await removeOldest(tx, deviceId, sql`"LiveActivity"`',
};
