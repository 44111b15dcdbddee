import type { PendingEmailChange } from "@/lib/accounts/email-change/schema";
import type { User } from "@/lib/accounts/schema";
import { Form } from "../../components/form";
import { TimeText } from "../../components/time";
import { COMMON } from "../../language/common-texts";
import { textsOf } from "../../language/page-language";
import { defineTexts } from "../../language/texts";
import type { AccountTexts } from "../texts/account";

const PENDING = defineTexts({
  en: (at: Date) => (
    <>
      The link that we sent there expires <TimeText at={at} />. Nothing changes until it is opened.
    </>
  ),
  de: (at) => (
    <>
      Der Link, den wir dorthin geschickt haben, läuft <TimeText at={at} /> ab. Bis er geöffnet wird, ändert sich
      nichts.
    </>
  ),
});

type Props = { user: User; pending: PendingEmailChange | null; texts: AccountTexts["signIn"] };

/** The account's email, and the change of it that waits for its confirmation. */
export async function Email({ user, pending, texts }: Props) {
  const { email } = await textsOf(COMMON);
  const describePending = await textsOf(PENDING);
  return (
    <>
      <li className="row">
        <div className="details">
          <strong>{email}</strong>{" "}
          <span className="tag">{user.emailVerified ? texts.verified : texts.notVerified}</span>
          <p>{user.email}</p>
        </div>
        {!user.emailVerified && (
          <Form action="/forms/account/verification">
            <button type="submit" className="quiet">
              {texts.verify}
            </button>
          </Form>
        )}
        <a className="button quiet" href="/account/email">
          {texts.changeEmail}
        </a>
      </li>
      {pending && (
        <li className="row">
          <div className="details">
            <strong>{texts.newEmail}</strong> <span className="tag">{texts.notConfirmed}</span>
            <p>{pending.email}</p>
            <p>{describePending(pending.expiresAt)}</p>
          </div>
          <Form action="/forms/account/cancel-email">
            <button type="submit" className="quiet">
              {texts.cancelChange}
            </button>
          </Form>
        </li>
      )}
    </>
  );
}
