import type { PendingEmailChange } from "@/lib/accounts/email-change/schema";
import type { User } from "@/lib/accounts/schema";
import { Form } from "../../components/form";
import { Moment } from "../../components/time";

type Props = { user: User; pending: PendingEmailChange | null };

/** The account's email, and the change of it that waits for its confirmation. */
export function Email({ user, pending }: Props) {
  return (
    <>
      <li className="row">
        <div className="details">
          <strong>Email</strong> <span className="tag">{user.emailVerified ? "verified" : "not verified"}</span>
          <p>{user.email}</p>
        </div>
        {!user.emailVerified && (
          <Form action="/forms/account/verification">
            <button type="submit" className="quiet">
              Verify email
            </button>
          </Form>
        )}
        <a className="button quiet" href="/account/email">
          Change email
        </a>
      </li>
      {pending && (
        <li className="row">
          <div className="details">
            <strong>New email</strong> <span className="tag">not confirmed</span>
            <p>{pending.email}</p>
            <p>
              Open the link that we sent there by <Moment at={pending.expiresAt} />. Until then nothing changes.
            </p>
          </div>
          <Form action="/forms/account/cancel-email">
            <button type="submit" className="quiet">
              Cancel the change
            </button>
          </Form>
        </li>
      )}
    </>
  );
}
