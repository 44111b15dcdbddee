import { findPendingEmailChange } from "@/lib/accounts/email-change/request";
import { listSignInProviders } from "@/lib/auth/next-auth/call-from-forms";
import { relyingPartyId, userHandleOf } from "@/lib/auth/passkeys/ceremony";
import { listPasskeys } from "@/lib/auth/passkeys/stored-passkeys";
import { readFactors } from "@/lib/auth/second-factor/factors";
import { RECOVERY_CODE_COUNT } from "@/lib/auth/second-factor/recovery-codes";
import { providerTitle } from "@/lib/auth/sign-in-providers/providers";
import { readStepUpMethods } from "@/lib/auth/step-up";
import { pageContext } from "@/lib/auth/visitor";
import { Form } from "../components/form";
import { Day, TimeText } from "../components/time";
import { COMMON } from "../language/common-texts";
import { textsOf } from "../language/page-language";
import { defineTexts } from "../language/texts";
import { KeepPasskeys } from "../passkeys/keep-passkeys";
import { ProviderButton, ProviderLogo } from "../sign-in/provider-button";
import type { Visitor } from "./require-visitor";
import type { AccountTexts } from "./texts";

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

type Props = { visitor: Visitor; texts: AccountTexts };

/** The account's email, and the change of it that waits for its confirmation. */
async function Email({ visitor: { user }, texts: { signIn: texts } }: Props) {
  const { email } = await textsOf(COMMON);
  const describePending = await textsOf(PENDING);
  const pending = await findPendingEmailChange(pageContext(), user.id);
  return (
    <>
      <li className="row">
        <div className="details">
          <strong>{email}</strong>{" "}
          <span className="tag">{user.emailVerified ? texts.verified : texts.notVerified}</span>
          <p>{user.email}</p>
        </div>
        {(!user.emailVerified || user.emailProblem !== null) && (
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

/** The providers that are linked to the account. */
function Providers({ visitor: { identities }, texts }: Props) {
  return identities.map(({ id, provider, linkedAt }) => (
    <li key={id} className="row">
      <div className="details">
        <strong>
          <ProviderLogo id={provider} /> {providerTitle(provider)}
        </strong>
        <p>
          {texts.added} <Day at={linkedAt} />
        </p>
      </div>
      <a className="button quiet" href={`/account/unlink?id=${id}`}>
        {texts.signIn.removeProvider(providerTitle(provider))}
      </a>
    </li>
  ));
}

/** The email, the password and the providers that sign in to the account. */
export async function SignInMethods({ visitor, texts }: Props) {
  const { password } = await textsOf(COMMON);
  return (
    <section className="card" aria-labelledby="sign-in-methods">
      <h2 id="sign-in-methods">{texts.signIn.title}</h2>
      <ul className="rows">
        <Email visitor={visitor} texts={texts} />
        <li className="row">
          <div className="details">
            <strong>{password}</strong>
            <p>{visitor.hasPassword ? texts.signIn.isSet : texts.signIn.isNotSet}</p>
          </div>
          <a className="button quiet" href="/account/password">
            {visitor.hasPassword ? texts.signIn.changePassword : texts.signIn.setPassword}
          </a>
        </li>
        <Providers visitor={visitor} texts={texts} />
      </ul>
      <div className="actions">
        {listSignInProviders(pageContext())
          .filter(({ id }) => !visitor.identities.some(({ provider }) => provider === id))
          .map(({ id, name }) => (
            <ProviderButton key={id} id={id} callbackUrl="/account">
              {texts.signIn.addProvider(name)}
            </ProviderButton>
          ))}
      </div>
    </section>
  );
}

export async function Passkeys({ visitor, texts: { passkeys: texts, added, lastUsed, notUsedYet } }: Props) {
  const common = await textsOf(COMMON);
  const { account, session } = visitor;
  const passkeys = await listPasskeys(pageContext().db, account.id);
  const mayCreate = passkeys.length === 0 && session.amr.includes("pwd") && (await isRecent(visitor));
  return (
    <section className="card" aria-labelledby="passkeys">
      <h2 id="passkeys">{texts.title}</h2>
      <p>{texts.intro}</p>
      {passkeys.length > 0 && (
        <ul className="rows">
          {passkeys.map(({ id, name, isSynced, createdAt, lastUsedAt }) => (
            <li key={id} className="row">
              <div className="details">
                <strong>{name}</strong> {isSynced && <span className="tag">{texts.synced}</span>}
                <p>
                  {added} <Day at={createdAt} />, {lastUsedAt ? lastUsed : notUsedYet}{" "}
                  {lastUsedAt && <Day at={lastUsedAt} />}
                </p>
              </div>
              <a className="button quiet" href={`/account/passkeys/rename?id=${id}`} aria-label={texts.rename(name)}>
                {common.rename}
              </a>
              <a className="button quiet" href={`/account/passkeys/remove?id=${id}`} aria-label={texts.remove(name)}>
                {common.remove}
              </a>
            </li>
          ))}
        </ul>
      )}
      <KeepPasskeys
        rpID={relyingPartyId(pageContext().config)}
        userID={userHandleOf(account.id)}
        email={account.email}
        name={account.name ?? account.email}
        accepted={passkeys.map(({ credentialId }) => credentialId)}
        mayCreate={mayCreate}
      />
      <div className="actions">
        <a className="button quiet" href="/account/passkeys/add">
          {texts.add}
        </a>
      </div>
    </section>
  );
}

const isRecent = async (visitor: Visitor) => (await readStepUpMethods(pageContext(), visitor)).isFresh;

/** The account's second factors. */
export async function Factors({ visitor, texts: { factors: texts, added, lastUsed } }: Props) {
  const { totp, recoveryCodes } = await readFactors(pageContext(), visitor.account.id);
  return (
    <section className="card" aria-labelledby="factors">
      <h2 id="factors">{texts.title}</h2>
      {totp ? (
        <ul className="rows">
          <li className="row">
            <div className="details">
              <strong>{texts.app}</strong>
              <p>
                {added} <Day at={totp.createdAt} />
                {totp.lastUsedAt && (
                  <>
                    , {lastUsed} <Day at={totp.lastUsedAt} />
                  </>
                )}
              </p>
            </div>
            <a className="button quiet" href="/account/factors/remove">
              {texts.remove}
            </a>
          </li>
          <li className="row">
            <div className="details">
              <strong>{texts.codes}</strong>
              <p>{texts.left(recoveryCodes?.remaining ?? 0, RECOVERY_CODE_COUNT)}</p>
            </div>
            <a className="button quiet" href="/account/factors/recovery-codes">
              {texts.newCodes}
            </a>
          </li>
        </ul>
      ) : (
        <>
          <p>{texts.why}</p>
          <p>
            <a className="button quiet" href="/account/factors/totp">
              {texts.add}
            </a>
          </p>
        </>
      )}
    </section>
  );
}
