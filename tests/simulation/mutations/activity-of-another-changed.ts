import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Whoever knows a device's id can remove its Live Activities",
  file: "lib/push/devices/live-activities.ts",
  search: "const count = await db.pushDevice.count({ where: { id: idOr(NIL_ID, deviceId), accountId } });",
  replace: "const count = await db.pushDevice.count({ where: { id: idOr(NIL_ID, deviceId) } });",
};
