import { accountOperations } from "@/lib/accounts/admin/operations";
import type { AccountDetails } from "@/lib/accounts/admin/schema";
import { SelectField } from "../../components/fields";
import { AccountAction, capitalized, countOf, endsSessions } from "./account-action";

type Props = { account: AccountDetails };

/** What can be done with the whole account. */
export function AccountActions({ account }: Props) {
  return (
    <>
      {account.disabledAt ? (
        <AccountAction
          operation={accountOperations.enableAccount}
          account={account}
          label="Enable"
          title={`Enable ${account.email}?`}
          submit="Enable the account"
        >
          <p>The owner can sign in again. Devices register again when the owner signs in on them.</p>
        </AccountAction>
      ) : (
        <Disable account={account} />
      )}
      {account.consentWithdrawnAt && <RestoreConsent account={account} />}
      <ChangeRole account={account} />
      <AccountAction
        operation={accountOperations.downloadAccountExport}
        account={account}
        label="Export"
        title="Export the data of this account?"
        submit="Download the export"
      >
        <p>Downloads everything that is stored about the owner as one JSON file. The audit trail records the export.</p>
      </AccountAction>
      <Delete account={account} />
    </>
  );
}

function Disable({ account }: Props) {
  return (
    <AccountAction
      operation={accountOperations.disableAccount}
      account={account}
      label="Disable"
      title={`Disable ${account.email}?`}
      submit="Disable the account"
      isDanger
    >
      <p>
        {capitalized(endsSessions(account))} Nobody can sign in to the account. Its data and its subscriptions stay, and
        it can be enabled again.
      </p>
    </AccountAction>
  );
}

function RestoreConsent({ account }: Props) {
  return (
    <AccountAction
      operation={accountOperations.restoreAccountConsent}
      account={account}
      label="Consent given again"
      title={`Did a parent of ${account.email} give the consent again?`}
      submit="Consent was given again"
    >
      <p>
        The account no longer counts as one without consent.
        {account.disabledAt && " It stays disabled until it is enabled."}
      </p>
    </AccountAction>
  );
}

function ChangeRole({ account }: Props) {
  return (
    <AccountAction
      operation={accountOperations.setAccountRole}
      account={account}
      label="Change role"
      title={`The role of ${account.email}`}
      submit="Change the role"
    >
      <p>
        Support can view everything except API keys, webhook secrets and the audit trail, and can end sessions. An admin
        may do everything. The {countOf(account.sessions.length, "session")} of the account{" "}
        {account.sessions.length === 1 ? "has" : "have"} the role at once.
      </p>
      <SelectField
        name="role"
        label="Role"
        options={{ user: "User", support: "Support", admin: "Admin" }}
        defaultValue={account.role}
      />
    </AccountAction>
  );
}

function Delete({ account }: Props) {
  const { purchases, devices, sessions } = account;
  const renewing = purchases.filter(({ willRenew }) => willRenew).length;
  return (
    <AccountAction
      operation={accountOperations.deleteAccountAsOperator}
      account={account}
      label="Delete"
      title={`Delete ${account.email}?`}
      submit="Delete the account"
      isDanger
    >
      <p>
        Deletes the account with {countOf(sessions.length, "session")} and {countOf(devices.length, "device")}, and
        takes the personal data out of {countOf(purchases.length, "purchase")}. The owner gets an email. This cannot be
        undone.
      </p>
      {renewing > 0 && (
        <p>
          <strong>{countOf(renewing, "subscription")} will continue</strong> until the owner cancels in the store.
        </p>
      )}
    </AccountAction>
  );
}
