import BatchEngine

extension RecordedPath {
  /// How another record of the same path differs from this one. Facts that only one of them has are not compared.
  ///
  /// - Parameters:
  ///   - isSeparate: whether the other one is not a further name of the file with the name ``firstName``.
  ///   - reportsRot: whether changed content with the recorded size and time is `rot`, not `modified`.
  ///   - owners: names for owners that the other record has only as numbers; nil if these numbers are from another system.
  func difference(
    to other: RecordedPath, isSeparate: Bool = false, reportsRot: Bool, owners: OwnerNames? = nil
  ) -> Difference? {
    guard other.kind == kind else {
      return Difference(.type, [Difference.Aspect(.kind, kind.word, other.kind.word)])
    }
    let content = kind == .regular ? contentAspects(to: other) : []
    var others = metadataAspects(to: other, owners)
    if isSeparate, let firstName {
      others.append(Difference.Aspect(.target, .text(firstName.bytes), .text([])))
    }
    var hasSameTime = true
    if let modified, let now = other.modified {
      hasSameTime = hasTime(now) || (!other.isTimeExact && other.hasTime(modified))
      if !hasSameTime { others.append(Difference.Aspect(.mtime, .time(modified), .time(now))) }
    }
    if !content.isEmpty {
      let isRot =
        reportsRot && modified != nil && other.modified != nil && hasSameTime
        && content.allSatisfy { $0.name == .content }
      return Difference(isRot ? .rot : .modified, content + others)
    }
    guard !others.isEmpty else { return nil }
    let isTouched = kind == .regular && others.count == 1 && !hasSameTime
    return Difference(isTouched ? .touched : .metadata, others)
  }

  private func contentAspects(to other: RecordedPath) -> [Difference.Aspect] {
    if let size, let now = other.size, size != now {
      return [Difference.Aspect(.size, .number(size), .number(now))]
    }
    guard let digest, let now = other.digest, digest.algorithm == now.algorithm, digest != now else {
      return []
    }
    return [Difference.Aspect(.content, .digest(digest), .digest(now))]
  }

  private func metadataAspects(to other: RecordedPath, _ owners: OwnerNames?) -> [Difference.Aspect] {
    var aspects = [Difference.Aspect]()
    if let mode, let now = other.mode, kind != .symbolicLink, mode != now {
      aspects.append(Difference.Aspect(.mode, Self.octal(mode), Self.octal(now)))
    }
    aspects += Self.aspect(.owner, recorded: owner, now: other.owner, name: owners?.user).map { [$0] } ?? []
    aspects += Self.aspect(.group, recorded: group, now: other.group, name: owners?.group).map { [$0] } ?? []
    if let attributes, let now = other.attributes, let aspect = Self.aspect(of: attributes, now) {
      aspects.append(aspect)
    }
    if kind == .symbolicLink, let linkTarget, linkTarget != other.linkTarget {
      aspects.append(
        Difference.Aspect(.target, .text(linkTarget.bytes), .text(other.linkTarget?.bytes ?? [])))
    }
    if let device, let now = other.device, device != now {
      aspects.append(
        Difference.Aspect(.device, "\(device.major),\(device.minor)", "\(now.major),\(now.minor)"))
    }
    return aspects
  }

  /// Owners are equal if their numbers are equal, or their names, because systems may have different numbers.
  private static func aspect(
    _ aspect: Difference.Aspect.Name, recorded: Owner?, now: Owner?, name: ((UInt32) -> [UInt8])?
  ) -> Difference.Aspect? {
    guard let recorded, let now, recorded.number != now.number else { return nil }
    let known = now.name.isEmpty ? name?(now.number) ?? [] : now.name
    guard recorded.name.isEmpty || recorded.name != known else { return nil }
    func text(_ name: [UInt8], _ number: UInt32) -> Difference.Aspect.Value {
      .text(name.isEmpty ? Array("\(number)".utf8) : name)
    }
    return Difference.Aspect(aspect, text(recorded.name, recorded.number), text(known, now.number))
  }

  /// The names of attributes that only one side has or whose values differ; nil if none.
  private static func aspect(
    of recorded: [ExtendedAttribute], _ live: [ExtendedAttribute]
  ) -> Difference.Aspect? {
    // Attributes for root only are visible only to root.
    func visible(_ attributes: [ExtendedAttribute]) -> Set<ExtendedAttribute> {
      Set(
        attributes.filter {
          !$0.isOfKernel && (StandardStreams.isRoot || !$0.name.starts(with: "trusted.".utf8))
        })
    }
    func names(_ attributes: Set<ExtendedAttribute>) -> Difference.Aspect.Value {
      let names = attributes.map(\.name).sorted { $0.lexicographicallyPrecedes($1) }
      return .text(Array(names.joined(separator: [UInt8(ascii: " ")])))
    }
    let (old, new) = (visible(recorded), visible(live))
    guard old != new else { return nil }
    return Difference.Aspect(.xattrs, names(old.subtracting(new)), names(new.subtracting(old)))
  }

  private static func octal(_ mode: UInt32) -> String {
    let digits = String(mode, radix: 8)
    return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
  }
}
