import type { User } from "@/lib/accounts/schema";
import { Day } from "../components/time";

/** The account's profile. */
export function ProfileCard({ user }: { user: User }) {
  return (
    <section className="card" aria-labelledby="profile">
      <h2 id="profile">Profile</h2>
      <dl>
        <dt>Name</dt>
        <dd>{user.name ?? "–"}</dd>
        <dt>Email</dt>
        <dd>{user.email}</dd>
        <dt>Member since</dt>
        <dd>
          <Day at={user.createdAt} />
        </dd>
      </dl>
    </section>
  );
}
