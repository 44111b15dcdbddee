import { z } from "zod";
import { StepUpProof } from "../../auth/step-up";

export const ChangePassword = StepUpProof.extend({
  newPassword: z.string().min(1).max(1024),
  keepOtherSessions: z.boolean().optional().describe("By default the account's other sessions end."),
});
export type ChangePassword = z.infer<typeof ChangePassword>;

/** The form has a checkbox, checked by default; browsers send it only while it is checked. */
export const ChangePasswordForm = StepUpProof.extend({
  newPassword: ChangePassword.shape.newPassword,
  signOutOthers: z.string().optional(),
}).transform(({ signOutOthers, ...change }) => ({ ...change, keepOtherSessions: signOutOthers === undefined }));

export const PasswordChanged = z.object({
  status: z.literal("password_changed"),
  token: z
    .string()
    .optional()
    .describe("Replaces the bearer token of the request, which has ended. Absent if it still works, or is a cookie."),
  tokenType: z.literal("Bearer").optional(),
});
