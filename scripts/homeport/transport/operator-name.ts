import { userInfo } from "node:os";

/** Who runs the command, as the audit trail names them: the user who called sudo, or the process's user. */
export const encodedOperatorName = (): string => encodeURIComponent(process.env.SUDO_USER ?? userInfo().username);
