import type { Context } from "../../context";
import type { EmailData, EmailInput, EmailKind } from "../../platform/mail/emails";
import type { Compose, Queued } from "../../platform/mail/queue";
import { CONFIRM_TTL_HOURS, findConfirmToken, findUndo, UNDO_TTL_DAYS } from "../email-change/tokens";

type Deps = Pick<Context, "config" | "db" | "now">;

/** Makes an email of a kind from what its text needs. `prepare` returns null if there is nothing left to send. */
export type ComposeKind = <Kind extends EmailKind>(
  kind: Kind,
  prepare: (queued: Queued<EmailData[Kind]>) => Promise<EmailInput[Kind] | null>,
) => Compose<EmailData[Kind]>;

/** Composes the emails about a change of email. Whether the new email has an account is looked up when it is sent. */
export function emailChangeEmails(deps: Deps, compose: ComposeKind) {
  const { baseUrl } = deps.config;
  const confirm = compose("email_change_confirm", async ({ data }) => {
    const token = await findConfirmToken(deps, data.changeId);
    return token === null ? null : { link: `${baseUrl}/email-change#token=${token}`, ttlHours: CONFIRM_TTL_HOURS };
  });
  const inUse = compose("email_in_use", async () => ({ forgotUrl: `${baseUrl}/forgot` }));
  const notice = compose("email_change_notice", async ({ to }) => {
    const undo = await findUndo(deps, to);
    if (!undo) return null;
    const undoLink = `${baseUrl}/email-change/undo#token=${undo.token}`;
    return { newEmail: undo.newEmail, undoLink, undoDays: UNDO_TTL_DAYS };
  });
  return {
    email_change_confirm: async (queued: Queued<EmailData["email_change_confirm"]>) => {
      const isInUse = (await deps.db.account.count({ where: { email: queued.to } })) > 0;
      return isInUse ? inUse({ ...queued, data: null }) : confirm(queued);
    },
    email_in_use: inUse,
    email_change_notice: notice,
  };
}
