import { AccountParams } from "@/lib/accounts/admin/schema";
import { listAccountEvents, showAccount } from "@/lib/accounts/admin/show-account";
import { PageQuery } from "@/lib/platform/lists";
import { AccessQuery } from "@/lib/subscriptions/access/schema";
import { PageHead } from "../../components/headings";
import { ShownSecret } from "../../components/shown-secret";
import { consolePage, parseId, titleOf } from "../../frame/console-page";
import { hasRole } from "../../frame/operator";
import { AccountBadges } from "../account-badges";
import { Access } from "./access";
import { AccountActions } from "./account-actions";
import { Grants } from "./grants";
import { Notifications } from "./notifications";
import { Profile } from "./profile";
import { Purchases } from "./purchases";
import { SecurityEvents } from "./security-events";
import { Devices, Sessions } from "./sessions-and-devices";
import { SignInMethods } from "./sign-in-methods";

export const generateMetadata = titleOf("Accounts", async ({ ctx, params }) => {
  const { accountId } = parseId(AccountParams, params);
  return (await showAccount(ctx, accountId)).email;
});

const DONE = {
  created: "The account is created. Its owner can sign in after a password reset, or be invited.",
  created_and_invited: "The account is created. Its owner gets an email with a link that sets a password or a passkey.",
  invited: "The owner gets an email with a link that sets a password or a passkey.",
  disabled: "The account is disabled. Its sessions have ended, and nobody can sign in to it.",
  consent_restored: "The account no longer counts as one without consent.",
  enabled: "The account is enabled. Its owner can sign in again.",
  sessions_ended: "Every session has ended.",
  session_ended: "The session has ended.",
  unlinked: "The provider is unlinked, and every session has ended. The owner gets an email.",
  factors_reset: "The second factors and passkeys are removed, and every session has ended. The owner gets an email.",
  code_created: "The code is made. It works once within a week, with an emailed link.",
  granted: "The customer has the entitlement at once.",
  grant_ended: "The grant has ended.",
  role_changed: "The account has the role. Its sessions have it at once.",
};

const PAGE = { query: PageQuery.extend(AccessQuery.shape), queryFields: ["entitlement"], done: DONE };

export default consolePage(PAGE, async ({ ctx, operator, params, query: { entitlement, ...page } }) => {
  const { accountId } = parseId(AccountParams, params);
  const account = await showAccount(ctx, accountId);
  const { events, nextCursor } = await listAccountEvents(ctx, accountId, { limit: 25, ...page });
  return (
    <>
      <PageHead
        title={account.email}
        parent={{ href: "/console/accounts", label: "Accounts" }}
        aside={<AccountBadges account={account} />}
        lead={account.name}
        actions={<AccountActions account={account} />}
      />
      <div className="columns">
        <Profile account={account} />
        <ShownSecret
          kind="recovery-code"
          title="The code for an emailed link"
          lead="Give it to the owner by another way than email. It cannot be shown again."
        />
        <SignInMethods account={account} needsCodes={ctx.config.AUTH_LINKS_NEED_CODE} />
      </div>
      <Access ctx={ctx} operator={operator} accountId={accountId} entitlement={entitlement} />
      <Sessions account={account} />
      <Devices devices={account.devices} />
      <Purchases purchases={account.purchases} />
      <Grants ctx={ctx} account={account} isAdmin={hasRole(operator, "admin")} />
      <Notifications ctx={ctx} accountId={accountId} canSend={hasRole(operator, "admin")} />
      <SecurityEvents events={events} nextCursor={nextCursor} />
    </>
  );
});
