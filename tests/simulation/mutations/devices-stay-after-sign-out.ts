import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Devices of an ended session stay",
  file: "lib/auth/sessions/sessions.ts",
  search: `  await removeDevices(tx, { sessionIds: [sessionId] });
`,
  replace: `  void removeDevices;
`,
};
