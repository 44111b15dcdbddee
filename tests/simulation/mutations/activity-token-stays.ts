import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The token of a Live Activity stays when its app says that it has ended",
  file: "lib/push/devices/live-activities.ts",
  search: "  await db.liveActivity.deleteMany({ where });\n",
  replace: "",
};
