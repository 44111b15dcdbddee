import type { Profile } from "@/lib/accounts/profile";
import { Day } from "../parts/time";

/** Who the account is. */
export function ProfileCard({ user }: Pick<Profile, "user">) {
  return (
    <section className="card" aria-labelledby="profile">
      <h2 id="profile">Profile</h2>
      <dl>
        <dt>Name</dt>
        <dd>{user.name ?? "–"}</dd>
        <dt>E-mail</dt>
        <dd>
          {user.email} <span className="tag">{user.emailVerified ? "confirmed" : "not confirmed"}</span>
        </dd>
        <dt>Member since</dt>
        <dd>
          <Day at={user.createdAt} />
        </dd>
      </dl>
      <p>
        <a href="/forgot">Change the password</a>
      </p>
    </section>
  );
}
