import { accountOperations } from "@/lib/accounts/admin/operations";
import type { AccountDetails } from "@/lib/accounts/admin/schema";
import { Facts } from "../../components/facts";
import { type Column, List } from "../../components/table";
import { Ago } from "../../components/time";
import { AccountAction, countOf, endsSessions } from "./account-action";

export function SignInMethods({ account, needsCodes }: { account: AccountDetails; needsCodes: boolean }) {
  const { hasPassword, factors } = account;
  const { totp, recoveryCodes, passkeys } = factors;
  return (
    <List
      title="Sign-in"
      actions={
        <>
          {!hasPassword && passkeys.length === 0 && !account.disabledAt && <Invite account={account} />}
          {needsCodes && totp === null && <MakeCode account={account} />}
          {(totp !== null || passkeys.length > 0) && <ResetFactors account={account} />}
        </>
      }
      caption="Linked sign-in providers"
      columns={identityColumns(account)}
      rows={account.identities}
      empty={
        <p className="muted">
          No sign-in provider is linked.
          {!hasPassword && passkeys.length === 0 && " The account has no way to sign in: invite its owner."}
        </p>
      }
    >
      <Facts
        entries={[
          ["Password", hasPassword ? "Yes" : "No"],
          account.invitation && [
            "Invitation",
            <span key="invitation">
              expires <Ago at={account.invitation.expiresAt} />
            </span>,
          ],
          ["Authenticator app", totp ? <LastUse key="totp" at={totp.lastUsedAt} /> : "No"],
          ["Recovery codes", recoveryCodes ? `${recoveryCodes.remaining} left` : "No"],
          ["Passkeys", passkeys.length === 0 ? "No" : <Passkeys key="passkeys" passkeys={passkeys} />],
        ]}
      />
    </List>
  );
}

function Passkeys({ passkeys }: { passkeys: AccountDetails["factors"]["passkeys"] }) {
  return (
    <ul className="plain">
      {passkeys.map(({ id, name, lastUsedAt }) => (
        <li key={id}>
          <bdi>{name}</bdi>, <LastUse at={lastUsedAt} />
        </li>
      ))}
    </ul>
  );
}

function LastUse({ at }: { at: Date | null }) {
  return at ? (
    <>
      last used <Ago at={at} />
    </>
  ) : (
    "not used yet"
  );
}

const identityColumns = (account: AccountDetails): Column<AccountDetails["identities"][number]>[] => [
  { head: "Provider", isRowHead: true, cell: ({ provider }) => provider },
  { head: "Subject", cell: ({ subject }) => <code>{subject}</code> },
  { head: "Linked", isTight: true, cell: ({ createdAt }) => <Ago at={createdAt} /> },
  {
    head: "Actions",
    align: "end",
    cell: ({ provider }) => (
      <AccountAction
        operation={accountOperations.unlinkAccountProvider}
        account={account}
        label="Unlink"
        name={provider}
        title={`Unlink ${provider}?`}
        submit={`Unlink ${provider}`}
        params={{ provider }}
        isDanger
      >
        <p>
          Removes {countOf(account.identities.filter((one) => one.provider === provider).length, "identity")} and{" "}
          {endsSessions(account)} The owner gets an email
          {account.hasPassword ? "." : ", and signs in again after a password reset."}
        </p>
      </AccountAction>
    ),
  },
];

function Invite({ account }: { account: AccountDetails }) {
  return (
    <AccountAction
      operation={accountOperations.inviteAccount}
      account={account}
      label={account.invitation ? "Invite again" : "Invite"}
      title={`Invite ${account.email}?`}
      submit="Send the invitation"
    >
      <p>
        The owner gets an email with a link that sets a password or a passkey, once, within 7 days.
        {account.invitation && " The link of the earlier invitation no longer works."}
      </p>
    </AccountAction>
  );
}

function MakeCode({ account }: { account: AccountDetails }) {
  return (
    <AccountAction
      operation={accountOperations.createAccountRecoveryCode}
      account={account}
      label="Make a code"
      title="Make a code for an emailed link?"
      submit="Make the code"
    >
      <p>
        With it, and the link of a password reset or of an invitation, the owner sets a password. It works once within a
        week. Make sure first that it is the owner who asks.
      </p>
    </AccountAction>
  );
}

function ResetFactors({ account }: { account: AccountDetails }) {
  const { totp, passkeys } = account.factors;
  const removed = [totp && "the authenticator app", passkeys.length > 0 && countOf(passkeys.length, "passkey")];
  return (
    <AccountAction
      operation={accountOperations.resetAccountFactors}
      account={account}
      label="Reset factors"
      title="Reset the second factors?"
      submit="Reset the factors"
      isDanger
    >
      <p>
        Removes {removed.filter(Boolean).join(" and ")}, and {endsSessions(account)} Make sure first that it is the
        owner who asks. The owner gets an email.
      </p>
    </AccountAction>
  );
}
