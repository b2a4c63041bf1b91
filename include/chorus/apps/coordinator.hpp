/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coordinator.hpp: the calls of coordinator.h for C++17: what a call of C fails with is thrown
 * as chorusx::error, and objects end by their destructors, which call functions that all PEs
 * call: all PEs must leave a scope alike.
 */
#ifndef CHORUS_APPS_COORDINATOR_HPP
#define CHORUS_APPS_COORDINATOR_HPP

#include "chorus/apps/coordinator.h"

#include <stdexcept>
#include <type_traits>
#include <utility>

namespace chorusx
{

struct error : std::runtime_error {
    int code;

    explicit error(int failed) : std::runtime_error(chorusx_last_error()), code(failed)
    {
    }
};

inline void check(int code)
{
    if (code != CHORUS_OK) throw error(code);
}

/* The constant of a type that a reduce takes. */
template <typename T> constexpr chorus_type type_of()
{
    if constexpr (std::is_same_v<T, float>)
        return CHORUS_TYPE_f32;
    else if constexpr (std::is_same_v<T, double>)
        return CHORUS_TYPE_f64;
    else {
        static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                      "values are of 4 or 8 bytes");
        if (sizeof(T) == 4) return std::is_signed_v<T> ? CHORUS_TYPE_i32 : CHORUS_TYPE_u32;
        return std::is_signed_v<T> ? CHORUS_TYPE_i64 : CHORUS_TYPE_u64;
    }
}

/* An object of C, which END ends. It can be moved. */
template <typename Handle, int (*END)(Handle)> class owner
{
  public:
    explicit owner(Handle handle) : kept(handle)
    {
    }
    owner(owner &&other) noexcept : kept(std::exchange(other.kept, nullptr))
    {
    }
    owner &operator=(owner &&other) noexcept
    {
        std::swap(kept, other.kept);
        return *this;
    }
    ~owner()
    {
        (void)!END(kept);
    }
    operator Handle() const
    {
        return kept;
    }

  private:
    Handle kept;
};

inline chorusx_environment_t open_environment(const char *backend)
{
    chorusx_environment_t opened;

    check(chorusx_environment_create(backend, &opened));
    return opened;
}

class environment : public owner<chorusx_environment_t, chorusx_environment_destroy>
{
  public:
    explicit environment(const char *backend = nullptr) : owner(open_environment(backend))
    {
    }
    chorusx_communicator_t world() const
    {
        return chorusx_environment_world(*this);
    }
};

inline chorusx_communicator_t split_communicator(chorusx_communicator_t parent, int color)
{
    chorusx_communicator_t split;

    check(chorusx_communicator_split(parent, color, &split));
    return split;
}

/* The PEs of a colour; null on a PE without one. */
class communicator : public owner<chorusx_communicator_t, chorusx_communicator_destroy>
{
  public:
    communicator(chorusx_communicator_t parent, int color)
        : owner(split_communicator(parent, color))
    {
    }
};

/* n values in memory of a communicator, of zeros. */
template <typename T> class memory
{
  public:
    memory(chorusx_communicator_t communicator, size_t n)
        : of(communicator),
          values(static_cast<T *>(chorusx_communicator_malloc(communicator, n * sizeof(T))))
    {
        if (values == nullptr) throw error(CHORUS_ERR_NOMEM);
    }
    memory(const memory &) = delete;
    memory &operator=(const memory &) = delete;
    ~memory()
    {
        (void)!chorusx_communicator_free(of, values);
    }
    operator T *() const
    {
        return values;
    }

  private:
    chorusx_communicator_t of;
    T *values;
};

inline chorusx_coordinator_t create_coordinator(chorusx_communicator_t communicator,
                                                chorusx_launch_mode_t mode,
                                                chorus_stream_t stream)
{
    chorusx_coordinator_t created;

    check(chorusx_coordinator_create(communicator, mode, stream, &created));
    return created;
}

class coordinator : public owner<chorusx_coordinator_t, chorusx_coordinator_destroy>
{
  public:
    explicit coordinator(chorusx_communicator_t communicator,
                         chorusx_launch_mode_t mode = CHORUSX_LAUNCH_HOST,
                         chorus_stream_t stream = nullptr)
        : owner(create_coordinator(communicator, mode, stream))
    {
    }
    /* work(stream) is called by launch, and must exist as long. */
    template <typename F> void bind(chorusx_launch_mode_t mode, F &work)
    {
        check(chorusx_coordinator_bind(
            *this, mode,
            [](void *arg, chorus_stream_t stream) { (*static_cast<F *>(arg))(stream); },
            &work));
    }
    void launch()
    {
        check(chorusx_coordinator_launch(*this));
    }
    template <typename T>
    void post(T *dest, const T *source, size_t n, uint64_t *signal, uint64_t value, int pe)
    {
        check(chorusx_coordinator_post(*this, dest, source, n * sizeof(T), signal, value, pe));
    }
    template <typename T>
    void acknowledge(T *dest, size_t n, uint64_t *signal, uint64_t value, int pe)
    {
        check(chorusx_coordinator_acknowledge(*this, dest, n * sizeof(T), signal, value, pe));
    }
    void begin()
    {
        check(chorusx_coordinator_begin(*this));
    }
    void end()
    {
        check(chorusx_coordinator_end(*this));
    }
    void barrier()
    {
        check(chorusx_coordinator_barrier(*this));
    }
    template <typename T> void broadcast(T *dest, const T *source, size_t n, int root)
    {
        check(chorusx_coordinator_broadcast(*this, dest, source, n * sizeof(T), root));
    }
    template <typename T> void fcollect(T *dest, const T *source, size_t n)
    {
        check(chorusx_coordinator_fcollect(*this, dest, source, n * sizeof(T)));
    }
    template <typename T> void alltoall(T *dest, const T *source, size_t n)
    {
        check(chorusx_coordinator_alltoall(*this, dest, source, n * sizeof(T)));
    }
    template <typename T>
    void reduce(T *dest, const T *source, size_t n, chorus_op op = CHORUS_OP_sum)
    {
        check(chorusx_coordinator_reduce(*this, dest, source, n, type_of<T>(), op));
    }
    void synchronize()
    {
        check(chorusx_coordinator_synchronize(*this));
    }
};

} // namespace chorusx

#endif /* CHORUS_APPS_COORDINATOR_HPP */
