#if canImport(ActivityKit) && !os(macOS)
  import ActivityKit

  /// Sends the push tokens of Live Activities to the service. The device has to be active.
  public struct LiveActivityTokens: Sendable {
    private let deviceId: String
    private let homeport: Homeport

    public init(deviceId: String, homeport: Homeport) {
      self.deviceId = deviceId
      self.homeport = homeport
    }

    /// Registers each token that starts activities of a type. Runs until its task is cancelled.
    @available(iOS 17.2, *)
    public func followStartTokens<Attributes: ActivityAttributes & Sendable>(of type: Attributes.Type) async {
      for await token in Activity<Attributes>.pushToStartTokenUpdates {
        try? await homeport.registerLiveActivityStart(of: "\(type)", token: hex(token), deviceId: deviceId)
      }
    }

    /// Registers the tokens of all activities of a type, those that a push has started too, and removes each once it has
    /// ended. `name` returns what the server calls an activity: 1 to 64 letters, digits, and . _ : - Runs until its task
    /// is cancelled.
    public func follow<Attributes: ActivityAttributes & Sendable>(
      _ type: Attributes.Type, name: @escaping @Sendable (Activity<Attributes>) -> String
    ) async {
      await withTaskGroup(of: Void.self) { group in
        for activity in Activity<Attributes>.activities { group.addTask { await follow(activity, name(activity)) } }
        for await activity in Activity<Attributes>.activityUpdates {
          group.addTask { await follow(activity, name(activity)) }
        }
      }
    }

    private func follow<Attributes: ActivityAttributes & Sendable>(_ activity: Activity<Attributes>, _ name: String) async {
      let sending = Task {
        for await token in activity.pushTokenUpdates {
          try? await homeport.registerLiveActivity(name, of: "\(Attributes.self)", token: hex(token), deviceId: deviceId)
        }
      }
      for await state in activity.activityStateUpdates where state == .ended || state == .dismissed { break }
      sending.cancel()
      if !Task.isCancelled { try? await homeport.removeLiveActivity(name, deviceId: deviceId) }
    }
  }
#endif
