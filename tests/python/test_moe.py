# SPDX-License-Identifier: Apache-2.0
"""Mixture of experts from Python, against a reference that knows the tokens of all PEs."""
import gc

import numpy as np
import pytest

import chorus
import chorus.moe

EACH, TOPK, HIDDEN = 2, 2, 6  # experts of a PE

ME, N = None, None


@pytest.fixture(autouse=True)
def who():
    global ME, N
    ME, N = chorus.my_pe(), chorus.n_pes()


def moe(**options):
    options = {"experts": EACH * N, "topk": TOPK, "tokens_max": 16, "hidden": HIDDEN, "dtype": "float32", **options}
    return chorus.moe.MoE(options.pop("team", None), **options)


def tokens_of(pe, seed=0):
    """Numbers of experts, some -1; tokens of small integers; weights that are exact. PEs have different numbers."""
    random = np.random.default_rng([seed, pe])
    n_tokens = 3 + 4 * pe
    idx = np.array([random.permutation(EACH * N)[:TOPK] for _ in range(n_tokens)], "int32")
    idx[random.random(idx.shape) < 0.2] = -1
    x = random.integers(-9, 10, (n_tokens, HIDDEN)).astype("float32")
    return idx, x, random.integers(1, 9, (n_tokens, TOPK)).astype("float32") / 8


def rows_of(expert, seed=0, capacity=None, is_on=lambda expert: True):
    """(pe, token, slot) of each row that an expert gets."""
    found = [(pe, t, k) for pe in range(N) for t, entries in enumerate(tokens_of(pe, seed)[0])
             for k in range(TOPK) if entries[k] == expert and is_on(expert)]
    return found[:capacity]


def mine():
    return range(EACH * ME, EACH * (ME + 1))


def computed(route, rows):
    """What the experts make of the rows: expert e multiplies by e + 1."""
    made = np.array(rows)
    for i, (first, count) in enumerate(zip(route.firsts, route.counts)):
        made[first:first + count] *= route.first_expert + i + 1
    return made


def combined(seed=0, capacity=None, is_on=lambda expert: True, renormalise=False, has_weights=True):
    """What the tokens of this PE become."""
    idx, x, weights = tokens_of(ME, seed)
    kept = {(t, k) for e in range(EACH * N) for pe, t, k in rows_of(e, seed, capacity, is_on) if pe == ME}
    out = np.zeros_like(x)
    for t, entries in enumerate(idx):
        left = [k for k in range(TOPK) if (t, k) in kept]
        factors = weights[t] if has_weights else np.ones(TOPK, "float32")
        if renormalise and left:
            all_of = np.float32(sum(factors[k] for k in range(TOPK) if entries[k] != -1))
            factors = factors * (all_of / np.float32(sum(factors[k] for k in left)))
        for k in left:
            out[t] += factors[k] * (x[t] * (entries[k] + 1))
    return out


def origins(route):
    return [(o.pe, o.token, o.slot) for o in route.origins]


@pytest.mark.parametrize("index_type", ["int32", "int64"])
def test_compact__dispatch_and_combine__are_the_reference_s(index_type):
    with moe() as object_:
        for seed in range(3):
            idx, x, weights = tokens_of(ME, seed)
            route = object_.route(idx.astype(index_type))
            expected = [rows_of(e, seed) for e in mine()]
            assert route.counts == tuple(len(rows) for rows in expected)
            assert route.firsts == tuple(np.cumsum([0, *route.counts])[:-1])
            assert (route.n_tokens, route.rows, route.dropped) == (len(x), sum(route.counts), 0)
            assert (route.array_rows, route.first_expert) == (route.rows, EACH * ME)
            assert origins(route) == sum(expected, [])
            rows = object_.dispatch(route, x)
            assert type(rows) is np.ndarray and rows.shape == (route.rows, HIDDEN)
            assert all((row == tokens_of(pe, seed)[1][t]).all() for row, (pe, t, _) in zip(rows, origins(route)))
            y = computed(route, rows)
            assert (object_.combine(route, y, weights) == combined(seed)).all()
            assert (object_.combine(route, y) == combined(seed, has_weights=False)).all()
        assert object_.dropped == 0


def test_origins__as_an_array_of_numpy__have_fields():
    with moe() as object_:
        route = object_.route(tokens_of(ME)[0])
        fields = np.asarray(route.origins)
        assert fields.dtype.names == ("pe", "token", "slot")
        assert fields["token"].tolist() == [t for _, t, _ in origins(route)]


def test_out__arrays_of_each_kind__are_returned():
    idx, x, weights = tokens_of(ME)
    everyones = chorus.zeros((16, HIDDEN))
    tokens = everyones[:len(x)]
    np.asarray(tokens)[...] = x
    with moe() as object_:
        route = object_.route(idx)
        rows = np.full((route.rows, HIDDEN), -1, "float32")
        assert object_.dispatch(route, tokens, out=rows) is rows
        out = chorus.zeros((16, HIDDEN))[:len(x)]
        assert object_.combine(route, computed(route, rows), weights, out) is out
        assert (np.asarray(out) == combined()).all()


def test_bfloat16__of_arrays_of_chorus__is_combined():
    with moe(dtype="bfloat16", experts=N, topk=1, tokens_max=1) as object_:
        x, rows, out = (chorus.full((1, HIDDEN), value, "bfloat16") for value in (ME + 1.5, 0, 0))
        route = object_.route(np.array([[(ME + 1) % N]], "int32"))
        with pytest.raises(chorus.ArgumentError, match="NumPy has no arrays of dtype bfloat16, so pass one"):
            object_.dispatch(route, x)
        object_.dispatch(route, x, out=rows)
        assert rows[0][0].item() == (ME - 1) % N + 1.5
        assert object_.combine(route, rows, np.full((1, 1), 2, "float32"), out) is out
        assert out[0][HIDDEN - 1].item() == 2 * (ME + 1.5)


def test_torch__tensors__become_tensors():
    torch = pytest.importorskip("torch")
    idx, x, weights = tokens_of(ME)
    with moe() as object_:
        route = object_.route(torch.from_numpy(idx).long())
        rows = object_.dispatch(route, torch.from_numpy(x))
        assert type(rows) is torch.Tensor and tuple(rows.shape) == (route.rows, HIDDEN)
        y = torch.from_numpy(computed(route, rows.numpy()))
        out = object_.combine(route, y, torch.from_numpy(weights))
        assert type(out) is torch.Tensor and (out.numpy() == combined()).all()


def test_fp8__bytes_with_scales__are_combined_in_another_type():
    idx, x, weights = tokens_of(ME)
    with moe(dtype="uint8", scale_bytes=4, combine_dtype="float32") as object_:
        route = object_.route(idx)
        values, scales = (x + 9).astype("uint8"), np.arange(len(x), dtype="float32") + 100 * ME
        rows, rows_scales = object_.dispatch(route, values, scales)
        assert rows.dtype == np.uint8 and rows_scales.shape == (route.rows, 1)
        assert rows_scales[:, 0].tolist() == [t + 100 * pe for pe, t, _ in origins(route)]
        pair = np.zeros_like(rows), np.zeros_like(rows_scales)
        given_back = object_.dispatch(route, values, scales, pair)
        assert given_back[0] is pair[0] and given_back[1] is pair[1]
        assert (pair[0] == rows).all() and (pair[1] == rows_scales).all()
        y = computed(route, rows.astype("float32") - 9)
        assert (object_.combine(route, y, weights) == combined()).all()


def test_expert_major__beyond_a_capacity__is_dropped():
    idx, x, weights = tokens_of(ME)
    with moe(capacity=2, layout="expert_major", renormalise=True) as object_:
        route = object_.route(idx)
        kept = [rows_of(e, capacity=2) for e in mine()]
        assert route.counts == tuple(len(rows) for rows in kept)
        assert route.firsts == tuple(2 * i for i in range(EACH)) and route.array_rows == 2 * EACH
        filled = [row for rows in kept for row in rows + [None] * (2 - len(rows))]
        assert [None if o[0] == -1 else o for o in origins(route)] == filled
        lost = sum(pe == ME for e in range(EACH * N) for pe, _, _ in rows_of(e)[2:])
        assert route.dropped == lost == object_.dropped
        rows = object_.dispatch(route, x)
        assert all((row == (0 if o is None else tokens_of(o[0])[1][o[1]])).all() for row, o in zip(rows, filled))
        out = object_.combine(route, computed(route, rows), weights)
        np.testing.assert_allclose(out, combined(capacity=2, renormalise=True), rtol=1e-6)


def test_overflow__fail__is_an_exception_on_all_pes():
    with moe(capacity=1, overflow="fail", topk=1) as object_:
        everyone_to_0 = np.zeros((2, 1), "int32")
        with pytest.raises(chorus.ArgumentError, match=f"^MoE.route: expert 0 gets {2 * N} rows, beyond its capacity "
                                                       'of 1; .* or with overflow="drop"$'):
            object_.route(everyone_to_0)
        route = object_.route(np.array([[ME]], "int32"))
        assert object_.dispatch(route, np.full((1, HIDDEN), ME, "float32")).shape == (route.rows, HIDDEN)


def test_set_active__experts_and_a_pe_off__count_as_empty():
    idx, x, weights = tokens_of(ME)
    with moe() as object_:
        old = object_.route(idx)
        object_.set_active(experts=[e % 2 == 0 for e in range(EACH * N)])
        with pytest.raises(chorus.Error, match="MoE.dispatch: .*set_active") as found:
            object_.dispatch(old, x)
        assert found.value.status == "ERR_STATE"
        route = object_.route(idx)
        assert route.counts == tuple(len(rows_of(e)) if e % 2 == 0 else 0 for e in mine())
        out = object_.combine(route, computed(route, object_.dispatch(route, x)), weights)
        assert (out == combined(is_on=lambda e: e % 2 == 0)).all()
        pes = np.arange(N) != N - 1  # with one PE, none is left
        object_.set_active(pes)
        if pes[ME]:
            route = object_.route(np.array([[EACH * (N - 1), ME]], "int32"))
            assert route.counts == tuple(1 if e < N - 1 and e // EACH < N - 1 else 0 for e in mine())
        else:
            with pytest.raises(chorus.Error, match="this PE is not active; call MoE.set_active"):
                object_.route(idx)
        object_.set_active()
        route = object_.route(idx)
        out = object_.combine(route, computed(route, object_.dispatch(route, x)), weights)
        assert (out == combined()).all()


def test_no_tokens__on_all_pes_but_one__are_served():
    n_tokens = 2 if ME == 0 else 0
    with moe(topk=1) as object_:
        route = object_.route(np.full((n_tokens, 1), EACH * N - 1, "int64"))
        rows = object_.dispatch(route, np.ones((n_tokens, HIDDEN), "float32"))
        assert rows.shape == (2 if ME == N - 1 else 0, HIDDEN)
        assert object_.combine(route, rows).tolist() == [[1] * HIDDEN] * n_tokens
        assert list(route.origins) == [] or ME == N - 1


def test_team__of_some_pes__has_experts_of_its_own():
    team = chorus.WORLD.create([N - 1])
    if team is not None:
        with moe(team=team, experts=3, topk=1) as object_:
            route = object_.route(np.array([[2], [0]], "int32"))
            assert route.counts == (1, 0, 1) and [o.pe for o in route.origins] == [0, 0]
        team.destroy()
    chorus.barrier()


def test_routes__collected_or_freed__leave_nothing():
    idx, x, _ = tokens_of(ME)
    object_ = moe()
    for _ in range(3):
        object_.route(idx)
    gc.collect()
    kept, freed = object_.route(idx), object_.route(idx)
    assert len(object_._routes) == 2
    freed.free()
    for call in (freed.free, lambda: freed.origins, lambda: object_.dispatch(freed, x)):
        with pytest.raises(chorus.Error, match="the route was freed"):
            call()
    object_.free()
    for call in (object_.free, lambda: object_.route(idx), lambda: object_.dropped, lambda: kept.origins):
        with pytest.raises(chorus.Error, match="the object was freed"):
            call()


def test_exception__within_the_context__does_not_wait_for_other_pes():
    with pytest.raises(KeyError):
        with moe() as object_:
            raise KeyError
    object_.free()


def test_create__wrong_values__are_named():
    for error, text, options in [
            (chorus.ArgumentError, "^MoE: experts is 0; expected 1 to 65536", {"experts": 0}),
            (chorus.ArgumentError, "^MoE: experts is 2147483647;", {"experts": 2 ** 40}),
            (chorus.ArgumentError, f"^MoE: topk is {EACH * N + 1}, of {EACH * N} experts", {"topk": EACH * N + 1}),
            (chorus.ArgumentError, "^MoE: tokens_max is -1; expected 1 to", {"tokens_max": -1}),
            (chorus.ArgumentError, "^MoE: hidden, in bytes, is 0; expected 1 to", {"hidden": 0}),
            (chorus.ArgumentError, "^MoE: hidden is 1.5; expected an integer", {"hidden": 1.5}),
            (chorus.DtypeError, "dtype float8 is none that Chorus has", {"dtype": "float8"}),
            (chorus.ArgumentError, "^MoE: capacity is 0; expected 1 or more, or None", {"capacity": 0}),
            (chorus.ArgumentError, '^MoE: capacity is 0; the layout "expert_major" needs one',
             {"layout": "expert_major"}),
            (chorus.ArgumentError, "^MoE: layout is 'dense'; expected one of compact, expert_major",
             {"layout": "dense"}),
            (chorus.ArgumentError, "^MoE: overflow is 1; expected one of drop, fail", {"overflow": 1}),
            (chorus.ArgumentError, "team is a int; expected a chorus.Team", {"team": 0}),
    ]:
        with pytest.raises(error, match=text):
            moe(**options)
    if N > 1:
        with pytest.raises(chorus.ArgumentError, match="^MoE: tokens_max is 1 on PE 0 and 2 on PE 1; pass the same"):
            moe(tokens_max=ME + 1)
        with pytest.raises(chorus.ArgumentError, match=f"^MoE: {N + 1} experts cannot be divided among {N} PEs"):
            moe(experts=N + 1)


def test_route__wrong_tokens__are_named_on_all_pes():
    with moe(topk=1) as object_:
        for text, entries in [
                (f"^MoE.route: entry 0 of token 1 of PE {N - 1} is {EACH * N}; expected an expert", EACH * N),
                (f"^MoE.route: entry 0 of token 1 of PE {N - 1} is 2147483647; expected an expert", 2 ** 40),
                (f"^MoE.route: entry 0 of token 1 of PE {N - 1} is -2; expected an expert", -2)]:
            idx = np.zeros((2, 1), "int64")
            if ME == N - 1:
                idx[1] = entries
            with pytest.raises(chorus.ArgumentError, match=text):
                object_.route(idx)
        with pytest.raises(chorus.ArgumentError, match=r"^MoE.route: PE 0 has 17 tokens; .* 16 \(tokens_max\)"):
            object_.route(np.zeros((17, 1), "int32"))
        assert object_.route(np.zeros((2, 1), "int32")).n_tokens == 2


def test_operands__wrong_ones__are_named():
    idx, x, weights = tokens_of(ME)
    with moe() as object_, moe(scale_bytes=4) as scaled, moe(dtype="int32") as ints:
        route, other, of_ints = object_.route(idx), scaled.route(idx), ints.route(idx)
        y, scales = np.zeros((route.rows, HIDDEN), "float32"), np.zeros(len(x), "float32")
        for error, text, bad in [
                (chorus.DtypeError, "MoE.route: topk_idx is of dtype float32; expected int32 or int64",
                 lambda: object_.route(weights)),
                (chorus.ArgumentError, r"topk_idx has shape \(3, 1\); expected topk = 2 entries for each token",
                 lambda: object_.route(np.zeros((3, 1), "int32"))),
                (chorus.ArgumentError, "topk_idx is a list", lambda: object_.route([[0, 1]])),
                (chorus.ArgumentError, "topk_idx is not contiguous",
                 lambda: object_.route(np.zeros((4, 4), "int32")[:, :2])),
                (chorus.ArgumentError, "MoE.dispatch: route is a ndarray", lambda: object_.dispatch(idx, x)),
                (chorus.ArgumentError, "MoE.combine: route is one of another object",
                 lambda: object_.combine(other, y)),
                (chorus.DtypeError, "MoE.dispatch: x is of dtype float64; expected float32",
                 lambda: object_.dispatch(route, x.astype("float64"))),
                (chorus.ArgumentError, f"MoE.dispatch: x has {x.size - HIDDEN} elements; expected {x.size}, {len(x)} "
                                       "tokens of 6", lambda: object_.dispatch(route, x[1:])),
                (chorus.ArgumentError, "MoE.dispatch: out has 1 elements; expected",
                 lambda: object_.dispatch(route, x, out=np.zeros(1, "float32"))),
                (chorus.ArgumentError, "scales is a ndarray; the object was created with scale_bytes=0",
                 lambda: object_.dispatch(route, x, scales)),
                (chorus.ArgumentError, "scales is None; the object was created with scale_bytes=4",
                 lambda: scaled.dispatch(other, x)),
                (chorus.ArgumentError, "scales has 1 elements of float32; expected scale_bytes=4 for each of",
                 lambda: scaled.dispatch(other, x, scales[:1])),
                (chorus.ArgumentError, "out is a ndarray; with scales, expected a pair of arrays",
                 lambda: scaled.dispatch(other, x, scales, y)),
                (chorus.DtypeError, "weights is of dtype float64; expected float32",
                 lambda: object_.combine(route, y, weights.astype("float64"))),
                (chorus.ArgumentError, f"weights has {len(x)} elements; expected {2 * len(x)}, 2 for each",
                 lambda: object_.combine(route, y, scales)),
                (chorus.ArgumentError, "MoE.combine: y has 1 elements; expected",
                 lambda: object_.combine(route, np.zeros(1, "float32"))),
                (chorus.DtypeError, "MoE.combine does not take dtype int32; it takes float32, bfloat16, float16",
                 lambda: ints.combine(of_ints, y)),
                (chorus.ArgumentError, f"MoE.set_active: pes is .*; expected {N} times True or False",
                 lambda: object_.set_active([2] * N)),
                (chorus.ArgumentError, f"MoE.set_active: experts is .*; expected {EACH * N} times",
                 lambda: object_.set_active(None, [True])),
        ]:
            with pytest.raises(error, match=text):
                bad()
        read_only = np.zeros_like(y)
        read_only.flags.writeable = False
        with pytest.raises(chorus.ArgumentError, match="out is read-only"):
            object_.dispatch(route, x, out=read_only)
        assert object_.dispatch(route, x, out=y) is y
