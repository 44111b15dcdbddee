import { userInfo } from "node:os";

/** Who runs a command, as the audit trail names them. */
export function operatorName(): `operator:${string}` {
  return `operator:${process.env.SUDO_USER ?? userInfo().username}`;
}
