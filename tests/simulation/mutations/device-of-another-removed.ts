import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Anybody can remove a device by its id",
  file: "lib/push/devices/devices.ts",
  search: "where: { id: idOr(NIL_ID, deviceId), accountId }",
  replace: "where: { id: idOr(NIL_ID, deviceId) }",
};
