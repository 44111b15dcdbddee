import { pageContext } from "@/lib/http/pages/visitor";
import { Notice } from "../parts/notice";
import { flashOf, type PageProps, queryOf } from "../parts/search-params";
import { Devices } from "./devices";
import { Heading } from "./heading";
import { ProfileCard } from "./profile-card";
import { SecurityEvents } from "./security-events";
import { Sessions } from "./sessions";
import { requireVisitor } from "./signed-in";
import { Subscription } from "./subscription";

export const metadata = { title: "Your account", robots: { index: false } };

const DONE_IN_WORDS: Record<string, string> = {
  email_verified: "Your e-mail address is confirmed.",
  identity_unlinked: "The provider is removed, and you are signed out everywhere else.",
  device_removed: "The device is removed.",
  session_ended: "The session is ended.",
  sessions_ended: "You are signed out everywhere else.",
};

export default async function Page(props: PageProps) {
  const visitor = await requireVisitor("/account");
  const ctx = pageContext();
  const { done, again } = await queryOf(props);
  const flash = await flashOf(again);
  const doneWords = done && Object.hasOwn(DONE_IN_WORDS, done) ? DONE_IN_WORDS[done] : null;
  const { account } = visitor;
  return (
    <>
      <Heading title="Your account" />
      {doneWords && <Notice>{doneWords}</Notice>}
      {flash && <Notice kind="wrong">{flash.message}</Notice>}
      <ProfileCard ctx={ctx} profile={visitor} />
      <Subscription ctx={ctx} visitor={visitor} />
      <Devices ctx={ctx} visitor={visitor} />
      <Sessions ctx={ctx} visitor={visitor} />
      <SecurityEvents ctx={ctx} accountId={account.id} />
      <section className="card" aria-labelledby="data">
        <h2 id="data">Your data</h2>
        <p>Everything that we keep about you, in one JSON file.</p>
        <p>
          <a className="button quiet" href="/api/auth/account/export">
            Export my data
          </a>
        </p>
        <p>
          <a href="/account/delete">Delete my account</a>
        </p>
      </section>
    </>
  );
}
