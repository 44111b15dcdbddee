import type { User } from "@/lib/accounts/schema";
import { Day } from "../../components/time";
import { COMMON } from "../../language/common-texts";
import { textsOf } from "../../language/page-language";
import type { AccountTexts } from "../texts/account";

/** The account's profile. */
export async function ProfileCard({ user, texts }: { user: User; texts: AccountTexts["profile"] }) {
  const { email } = await textsOf(COMMON);
  return (
    <section className="card" aria-labelledby="profile">
      <div className="heading">
        <h2 id="profile">{texts.title}</h2>
        <a href="/account/name">{texts.editName}</a>
      </div>
      <dl>
        <dt>{texts.name}</dt>
        <dd>{user.name ?? "–"}</dd>
        <dt>{email}</dt>
        <dd>{user.email}</dd>
        <dt>{texts.memberSince}</dt>
        <dd>
          <Day at={user.createdAt} />
        </dd>
      </dl>
    </section>
  );
}
