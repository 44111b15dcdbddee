import { z } from "zod";
import { StepUpProof } from "../../auth/step-up";
import { Email } from "../../platform/email";
import { ConfirmReset, User } from "../schema";

export const RequestEmailChange = StepUpProof.extend({ email: Email });
export type RequestEmailChange = z.infer<typeof RequestEmailChange>;

/** A change that waits for its confirmation. */
export const PendingEmailChange = z.object({
  email: z.string().describe("The new email."),
  requestedAt: z.date(),
  expiresAt: z.date().describe("When the emailed link expires."),
});
export type PendingEmailChange = z.infer<typeof PendingEmailChange>;

/** The same whether or not the new email has an account. */
export const EmailChangeRequested = z.object({
  status: z.literal("confirmation_required"),
  pending: PendingEmailChange,
});
export const EmailChangeState = z.object({ pending: PendingEmailChange.nullable() });

export const EmailChangeToken = z.object({ token: ConfirmReset.shape.token });
export const EmailChanged = z.object({ status: z.literal("email_changed"), user: User });
export const EmailRestored = z.object({
  status: z.literal("email_restored"),
  identities: z
    .array(z.object({ provider: z.string(), linkedAt: z.date() }))
    .describe("The providers that are still linked to the account."),
});
