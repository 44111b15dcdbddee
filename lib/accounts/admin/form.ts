import { z } from "zod";
import { PROVIDER_NAMES } from "../../auth/sign-in-providers/providers";
import { Reason } from "../../platform/audit/reason";
import { Role } from "./schema";

/** The form of a change to an account. In the console, a reason is required. */
export const AccountForm = z.object({ accountId: z.uuid(), reason: Reason });
export const RoleForm = AccountForm.extend({ role: Role });
export const SessionForm = AccountForm.extend({ sessionId: z.uuid() });
export const ProviderForm = AccountForm.extend({ provider: z.enum(PROVIDER_NAMES) });
